import { evidence } from '../report/evidence.ts'
import { sessionHeaders } from '../decision/findings.ts'
import { heardText } from '../wire/reply.ts'
import { placeText } from '../wire/place.ts'
import type { Check, Scene } from './check.ts'

/** Whether a stream that broke off goes on for a client that comes back, on another connection or at a replica. */
export const resume: Check = {
  name: 'resume',
  isUsual: false,
  cost: (scene) => (lastEventId(scene) === undefined ? undefined : 1),
  run: async (scene) => {
    const { wire, findings, options } = scene
    if (wire.transport !== 'http') return []
    const [url] = options.replicas
    const headers = { ...sessionHeaders(findings), 'last-event-id': lastEventId(scene) ?? '' }
    const heard = await wire.listen(
      headers,
      { listenMs: options.listenMs },
      url === undefined ? {} : { place: { url } },
    )
    const where = url === undefined ? 'on another connection' : `at ${placeText({ url })}`
    return heard.kind === 'stream'
      ? evidence('resume', 'UNKNOWN', `A stream that broke off is resumed ${where}.`)
      : evidence('resume', 'UNKNOWN', `A stream that broke off is not resumed ${where}: it ${heardText(heard)}.`)
  },
}

/** An id that can be sent back in a header. */
const SENDABLE = /^[\x21-\x7e]{1,1000}$/

/** From the stream of no request, or from an answer that came as a stream. */
function lastEventId({ stream, second, findings: { initialize } }: Scene): string | undefined {
  return [stream, second, initialize]
    .map((heard) => heard?.http?.lastEventId)
    .find((id) => id !== undefined && SENDABLE.test(id))
}
