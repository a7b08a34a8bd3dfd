import { isServed, sessionHeaders } from '../decision/findings.ts'
import { evidence } from '../report/evidence.ts'
import { placeText } from '../wire/httpRequest.ts'
import { heardText } from '../wire/reply.ts'
import type { Check, Scene } from './check.ts'

/** Whether there is a stream that belongs to no request, and what comes on it. */
export const getStream: Check = {
  name: 'get-stream',
  isUsual: true,
  cost: ({ findings }) => (isServed(findings) && findings.oldStream === undefined ? 1 : undefined),
  run: async (scene) => {
    const { wire, findings, options } = scene
    if (wire.transport !== 'http') return []
    scene.stream = await wire.listen(sessionHeaders(findings), { listenMs: options.listenMs })
    const status = scene.stream.http?.status
    if (scene.stream.kind === 'stream') {
      const count = scene.stream.events.length
      const came = count === 0 ? 'nothing came' : `${count} message${count === 1 ? '' : 's'} came`
      const sentence = `GET opens a stream; in ${options.listenMs} ms ${came} on it.`
      return evidence('get-stream', 'UNKNOWN', sentence, { status, messages: count })
    }
    if (status === 405)
      return evidence('get-stream', 'UNKNOWN', 'GET is not served (405): no stream outlives a request.', { status })
    return evidence('get-stream', 'UNKNOWN', `To GET it ${heardText(scene.stream)}.`, { status })
  },
}

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
