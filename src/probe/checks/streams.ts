import { evidence } from '../report/evidence.ts'
import { isServed, sessionHeaders } from '../decision/findings.ts'
import { heardText } from '../wire/reply.ts'
import type { Check } from './check.ts'

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
