import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Two transactional producers write alternately to both partitions of a topic. Every third
 * transaction of the first one and every second of the other one is aborted. Prints the committed
 * values.
 */
public class InterleavedTransactions {
  static String topic;

  public static void main(String[] arguments) throws Exception {
    topic = arguments[1];
    int rounds = Integer.parseInt(arguments[3]);
    List<String> committed = new ArrayList<>();
    try (KafkaProducer<String, String> one = producer(arguments[0], arguments[2] + "-one");
        KafkaProducer<String, String> other = producer(arguments[0], arguments[2] + "-other")) {
      for (int round = 0; round < rounds; round++) {
        one.beginTransaction();
        List<String> ofOne = send(one, "one " + round);
        other.beginTransaction();
        List<String> ofOther = send(other, "other " + round);
        ofOne.addAll(send(one, "one again " + round));
        end(one, round % 3 != 0, ofOne, committed);
        ofOther.addAll(send(other, "other again " + round));
        end(other, round % 2 != 0, ofOther, committed);
      }
    }
    for (String value : committed) System.out.println(value);
  }

  static KafkaProducer<String, String> producer(String brokers, String id) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", brokers);
    settings.put("transactional.id", id);
    settings.put("key.serializer", StringSerializer.class.getName());
    settings.put("value.serializer", StringSerializer.class.getName());
    KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
    producer.initTransactions();
    return producer;
  }

  /** Waits until the records are in the log, so that the transactions of both producers overlap there. */
  static List<String> send(KafkaProducer<String, String> producer, String name) throws Exception {
    List<String> values = new ArrayList<>();
    List<Future<?>> sent = new ArrayList<>();
    for (int partition = 0; partition < 2; partition++)
      for (int number = 0; number < 3; number++) {
        String value = partition + " " + name + " " + number;
        values.add(value);
        sent.add(producer.send(new ProducerRecord<>(topic, partition, null, value)));
      }
    producer.flush();
    for (Future<?> each : sent) each.get();
    return values;
  }

  static void end(
      KafkaProducer<String, String> producer, boolean commits, List<String> values, List<String> all) {
    if (!commits) {
      producer.abortTransaction();
      return;
    }
    producer.commitTransaction();
    all.addAll(values);
  }
}
