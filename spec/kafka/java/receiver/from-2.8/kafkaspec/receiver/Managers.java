package kafkaspec.receiver;

import kafka.server.ApiVersionManager;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.QuotaFactory.QuotaManagers;
import kafka.server.ZkAdminManager;
import kafkaspec.Fields;
import scala.Option;

/** The managers beside a ReplicaManager since Kafka 2.8. They have no threads. */
final class Managers {
    private Managers() { }

    static ApiVersionManager everyVersion() {
        return Stubs.stub(ApiVersionManager.class, "isApiEnabled", true);
    }

    /** Throttles nothing: a quota manager that was never constructed has no quotas. */
    static QuotaManagers quotas() {
        ClientRequestQuotaManager none = Stubs.unmade(ClientRequestQuotaManager.class);
        return new QuotaManagers(null, null, none, null, null, null, null, Option.empty());
    }

    /** Knows only that no administrator's request waits. */
    static ZkAdminManager adminManager() {
        ZkAdminManager idle = Stubs.unmade(ZkAdminManager.class);
        Fields.set(idle, "topicPurgatory", Surroundings.purgatory("topic"));
        return idle;
    }
}
