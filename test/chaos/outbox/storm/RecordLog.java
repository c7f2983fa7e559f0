import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Prints every record of a topic as Kafka's own consumer reads it, in the order of each partition:
 * event id, key, value, node, time of the publish, and time of the lease.
 */
public class RecordLog {
  public static void main(String[] arguments) {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", arguments[0],
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest");
    StringBuilder lines = new StringBuilder();
    try (var consumer =
        new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(arguments[1]).stream()
              .map(partition -> new TopicPartition(partition.topic(), partition.partition()))
              .toList();
      consumer.assign(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue()))
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200)))
          lines.append(line(record)).append('\n');
    }
    System.out.print(lines);
  }

  private static String line(ConsumerRecord<String, String> record) {
    return String.join(
        " ",
        header(record, "message-id"),
        record.key(),
        record.value(),
        header(record, "node"),
        header(record, "publishedAt"),
        header(record, "leasedAt"));
  }

  private static String header(ConsumerRecord<String, String> record, String name) {
    return new String(record.headers().lastHeader(name).value());
  }
}
