import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Prints what Kafka's own consumer reads from a topic with read_committed: the values, or the named
 * headers.
 */
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
          System.out.println(arguments.length > 2 ? headers(record, arguments[2]) : record.value());
    }
  }

  private static String headers(ConsumerRecord<String, String> record, String names) {
    return Stream.of(names.split(","))
        .map(name -> new String(record.headers().lastHeader(name).value()))
        .collect(Collectors.joining("/"));
  }

  private static TopicPartition partition(PartitionInfo partition) {
    return new TopicPartition(partition.topic(), partition.partition());
  }
}
