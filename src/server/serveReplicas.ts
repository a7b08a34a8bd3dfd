/** What other instances send here is answered by the handler of its era. */
import type { LegacyHttp } from './legacy/http.ts'
import type { StreamHandOver } from './legacy/push/handOver.ts'
import type { ModernHttp } from './modern/request.ts'
import type { Replicas } from './replicas/replicas.ts'

/** Without `legacy`, sessions are not served. */
export function serveReplicas(replicas: Replicas, modern: ModernHttp, legacy: LegacyHttp | undefined): void {
  replicas.calls.serveCall = (call, sink) => modern.answerForwarded(call, sink)
  if (legacy === undefined) return
  replicas.messages.serve = (request, sink) => legacy.serveForwarded(request, sink)
  replicas.messages.has = (stream) => legacy.has(stream)
  replicas.messages.adopt = (handedOver) => legacy.adopt(handedOver as unknown as StreamHandOver)
}
