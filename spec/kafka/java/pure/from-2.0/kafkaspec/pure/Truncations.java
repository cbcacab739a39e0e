package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import kafka.server.AbstractFetcherThread;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.internals.PartitionStates;

/**
 * The point to which a follower truncates after its leader's answer:
 * `AbstractFetcherThread.getOffsetTruncationState`. A case: the follower's `log`, as its records' epochs, and its
 * current `fetch_offset`; the leader's answer, `epoch` and `end_offset`. The answer: the offset, and whether the
 * truncation is then complete.
 */
final class Truncations implements Call {
    private final Method getOffsetTruncationState;
    private final FollowerLog log = new FollowerLog();
    private final Follower follower = new Follower(log);
    private final PartitionStates<PartitionFetchState> states;

    @SuppressWarnings("unchecked")
    Truncations() throws IOException {
        getOffsetTruncationState = Arrays.stream(AbstractFetcherThread.class.getDeclaredMethods())
            .filter(method -> method.getName().equals("getOffsetTruncationState"))
            .findAny().orElseThrow();
        getOffsetTruncationState.setAccessible(true);
        states = (PartitionStates<PartitionFetchState>) Fields.get(follower, "partitionStates");
    }

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        log.becomes(Json.field(given, "log"));
        PartitionFetchState standing = follower.standingAt(Json.field(given, "fetch_offset").asLong());
        states.set(Map.of(FollowerLog.PARTITION, standing));
        Object[] answer = follower.leaderAnswer(
            Json.field(given, "epoch").asInt(), Json.field(given, "end_offset").asLong());
        OffsetTruncationState state = (OffsetTruncationState) getOffsetTruncationState.invoke(follower, answer);
        return Json.object().put("offset", state.offset()).put("done", state.truncationCompleted());
    }
}
