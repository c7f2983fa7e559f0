import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A group member that uses the Java client. Prints one line per event until its input ends. */
public class GroupMember {
  public static void main(String[] arguments) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("group.id", arguments[1]);
    if (arguments[3].equals("consumer")) {
      settings.put("group.protocol", "consumer");
    } else {
      settings.put("partition.assignment.strategy", arguments[3]);
      settings.put("session.timeout.ms", "6000");
      settings.put("heartbeat.interval.ms", "300");
    }
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false");
    settings.put("key.deserializer", StringDeserializer.class.getName());
    settings.put("value.deserializer", StringDeserializer.class.getName());
    try (Consumer<String, String> consumer = new KafkaConsumer<>(settings)) {
      consumer.subscribe(List.of(arguments[2]), new Reporter(consumer));
      while (System.in.available() == 0) {
        for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(50)))
          print("record " + each.partition() + ":" + each.offset());
        commit(consumer);
      }
    }
  }

  /** Commits, unless the member is rejoining or its epoch has just ended. A later poll commits then. */
  static void commit(Consumer<String, String> consumer) {
    try {
      consumer.commitSync();
    } catch (RebalanceInProgressException | CommitFailedException later) {
      print("later");
    }
  }

  static void print(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static class Reporter implements ConsumerRebalanceListener {
    private final Consumer<String, String> consumer;

    Reporter(Consumer<String, String> consumer) {
      this.consumer = consumer;
    }

    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
      report("assigned", partitions);
    }

    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
      commit(consumer);
      report("revoked", partitions);
    }

    public void onPartitionsLost(Collection<TopicPartition> partitions) {
      report("lost", partitions);
    }

    private void report(String what, Collection<TopicPartition> partitions) {
      String numbers =
          partitions.stream().map(each -> "" + each.partition()).sorted().collect(Collectors.joining(" "));
      print((what + " " + numbers).trim());
    }
  }
}
