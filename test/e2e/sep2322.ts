/** The messages of SEP-2322 as it prints them, and what is done to ours before the two are compared. */
import type { AnswerMessage, RequestMessage } from '../../examples/work-items/wire.ts'
import data from './sep2322.json' with { type: 'json' }

export interface Exchange {
  readonly request: RequestMessage
  readonly answer: AnswerMessage
}

export const sep = data as unknown as Record<'workItems' | 'weather' | 'weatherWrongKey', readonly Exchange[]>

/** The SEP's request with the state that the answer before it really carried, and none where it carried none. */
export function carrying(request: RequestMessage, before: AnswerMessage | undefined): RequestMessage {
  const { requestState: _, ...params } = request.params
  const requestState = before?.result?.requestState
  return { ...request, params: { ...(params as RequestMessage['params']), ...(requestState && { requestState }) } }
}

/**
 * An answer without what the SEP leaves open: the state's text is the server's own, `_meta` came with revision
 * 2026-07-28, and a form without `mode` is one of mode "form".
 */
export function comparable(answer: AnswerMessage): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (key === '_meta' || (key === 'mode' && value === 'form')) return undefined
    return key === 'requestState' ? typeof value : value
  })
  return JSON.parse(text)
}
