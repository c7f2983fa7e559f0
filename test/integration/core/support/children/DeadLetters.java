import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Reads and writes dead letters as Spring for Apache Kafka documents their headers: a partition is
 * ByteBuffer.putInt, an offset and a time are putLong, everything else is UTF-8.
 */
public class DeadLetters {
  private static final String PREFIX = "kafka_dlt-";

  public static void main(String[] args) throws Exception {
    if (args[0].equals("read")) read(args[1], args[2]);
    else write(args[1], args[2]);
  }

  private static void read(String brokers, String topic) {
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers);
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      TopicPartition partition = new TopicPartition(topic, 0);
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofSeconds(30));
      for (ConsumerRecord<byte[], byte[]> record : records) print(record.headers());
    }
  }

  private static void print(Headers headers) {
    Map<String, String> shown = new TreeMap<>();
    for (Header header : headers)
      if (header.key().startsWith(PREFIX)) shown.put(header.key(), shown(header));
    shown.forEach((name, value) -> System.out.println(name + "=" + value));
  }

  private static String shown(Header header) {
    ByteBuffer value = ByteBuffer.wrap(header.value());
    switch (header.key().substring(PREFIX.length())) {
      case "original-partition":
        return "int " + value.getInt() + " rest " + value.remaining();
      case "original-offset":
      case "original-timestamp":
        return "long " + value.getLong() + " rest " + value.remaining();
      default:
        return UTF_8.decode(value).toString();
    }
  }

  private static void write(String brokers, String topic) throws Exception {
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "acks", "all");
    ByteArraySerializer bytes = new ByteArraySerializer();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
      ProducerRecord<byte[], byte[]> letter =
          new ProducerRecord<>(topic, 0, "key".getBytes(UTF_8), "value".getBytes(UTF_8));
      letter
          .headers()
          .add("tenant", "north".getBytes(UTF_8))
          .add(PREFIX + "original-topic", "deal.events".getBytes(UTF_8))
          .add(PREFIX + "original-partition", ByteBuffer.allocate(4).putInt(11).array())
          .add(PREFIX + "original-offset", ByteBuffer.allocate(8).putLong(1L << 40).array())
          .add(PREFIX + "original-timestamp", ByteBuffer.allocate(8).putLong(1_700_000_000_123L).array())
          .add(PREFIX + "original-timestamp-type", "CreateTime".getBytes(UTF_8))
          .add(PREFIX + "original-consumer-group", "deals".getBytes(UTF_8))
          .add(PREFIX + "exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException".getBytes(UTF_8))
          .add(PREFIX + "exception-cause-fqcn", "java.lang.IllegalStateException".getBytes(UTF_8))
          .add(PREFIX + "exception-message", "Größe unbekannt".getBytes(UTF_8))
          .add(PREFIX + "exception-stacktrace", "java.lang.IllegalStateException: Größe unbekannt".getBytes(UTF_8));
      producer.send(letter).get();
    }
  }
}
