import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** Prints the partition that Java's producer chooses for each key (Base64, one per line). The argument is the partition count. */
public class KeyPartitions {
  public static void main(String[] arguments) throws Exception {
    int partitions = Integer.parseInt(arguments[0]);
    StringBuilder answers = new StringBuilder();
    BufferedReader keys = new BufferedReader(new InputStreamReader(System.in));
    for (String line = keys.readLine(); line != null; line = keys.readLine()) {
      byte[] key = Base64.getDecoder().decode(line);
      answers.append(BuiltInPartitioner.partitionForKey(key, partitions)).append('\n');
    }
    System.out.print(answers);
  }
}
