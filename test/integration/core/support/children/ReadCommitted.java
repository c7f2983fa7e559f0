import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints the values that Kafka's own consumer reads from a topic with read_committed. */
public class ReadCommitted {
  public static void main(String[] arguments) {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", arguments[0],
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest");
    try (var consumer =
        new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(arguments[1]).stream().map(ReadCommitted::partition).toList();
      consumer.assign(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue()))
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200)))
          System.out.println(record.value());
    }
  }

  private static TopicPartition partition(PartitionInfo partition) {
    return new TopicPartition(partition.topic(), partition.partition());
  }
}
