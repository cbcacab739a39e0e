package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.NewPartition$;
import kafka.controller.NewReplica$;
import kafka.controller.NonExistentPartition$;
import kafka.controller.NonExistentReplica$;
import kafka.controller.OfflinePartition$;
import kafka.controller.OfflineReplica$;
import kafka.controller.OnlinePartition$;
import kafka.controller.OnlineReplica$;
import kafka.controller.PartitionState;
import kafka.controller.ReplicaDeletionIneligible$;
import kafka.controller.ReplicaDeletionStarted$;
import kafka.controller.ReplicaDeletionSuccessful$;
import kafka.controller.ReplicaState;
import kafkaspec.Json;
import scala.collection.Iterator;

/**
 * The states of both state machines, each with its code and its valid previous states.
 * A case is `partition` or `replica`.
 */
final class StateTables implements Call {
    private static final PartitionState[] PARTITION = {
        NewPartition$.MODULE$, OnlinePartition$.MODULE$, OfflinePartition$.MODULE$, NonExistentPartition$.MODULE$,
    };
    private static final ReplicaState[] REPLICA = {
        NewReplica$.MODULE$, OnlineReplica$.MODULE$, OfflineReplica$.MODULE$, ReplicaDeletionStarted$.MODULE$,
        ReplicaDeletionSuccessful$.MODULE$, ReplicaDeletionIneligible$.MODULE$, NonExistentReplica$.MODULE$,
    };

    @Override
    public JsonNode answer(JsonNode given) {
        ObjectNode answer = Json.object();
        String machine = given.asText();
        switch (machine) {
            case "partition" -> {
                for (PartitionState state : PARTITION) {
                    put(answer.putObject(state.toString()), state.state(), state.validPreviousStates().iterator());
                }
            }
            case "replica" -> {
                for (ReplicaState state : REPLICA) {
                    put(answer.putObject(state.toString()), state.state(), state.validPreviousStates().iterator());
                }
            }
            default -> throw new Json.Malformed("no state machine " + machine);
        }
        return answer;
    }

    private static void put(ObjectNode row, int code, Iterator<?> previous) {
        ArrayNode names = row.put("code", code).putArray("previous");
        while (previous.hasNext()) {
            names.add(previous.next().toString());
        }
    }
}
