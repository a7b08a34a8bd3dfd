/** A client above `rounds`, and what goes through it. */
import { type Answerers, rounds, type RoundsOptions } from 'pannier/client'
import { Above, FakeTransport } from './fakeTransport.ts'

export const form = (message = 'Who?') => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } },
})
export const accept = (content: object = {}) => ({ action: 'accept', content })
export const inputRequired = (id: unknown, rest: object) => ({ id, result: { resultType: 'input_required', ...rest } })
export const done = (id: unknown, text = 'done') => ({
  id,
  result: { resultType: 'complete', content: [{ type: 'text', text }] },
})
export const call = (id: number, extra: object = {}) => ({
  id,
  method: 'tools/call',
  params: { name: 'tool', arguments: { a: 1 }, ...extra },
})

export function layered(
  answerers: Answerers = { form: () => accept({ name: 'Ann' }) },
  options: Partial<RoundsOptions> = {},
) {
  const wire = new FakeTransport()
  const above = new Above(rounds({ answerers, ...options })(wire))
  return { wire, above, last: () => wire.sent.at(-1)! }
}
