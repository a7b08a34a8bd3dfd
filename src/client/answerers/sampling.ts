/** Answers `sampling/createMessage` with a model of the host. */
import type { CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Answerer, Asked } from '../questions/answerer.ts'
import { wrongKind } from '../questions/kinds.ts'
import { responseTo } from '../questions/response.ts'

/** What a model said: a text, or content in the protocol's form. */
export interface Said {
  readonly model: string
  readonly content: string | CreateMessageResult['content'] | readonly Json[]
  /** @default 'assistant' */
  readonly role?: 'assistant' | 'user'
  readonly stopReason?: string
}

/**
 * Lets your model answer. The prompt was written by a server: show it to a person, or check it, where it may read or
 * spend something of theirs. To refuse, throw; the call then ends with that error.
 */
export type Model = (params: CreateMessageRequestParams, asked: Asked) => Said | Promise<Said>

/** Answers sampling with a function of yours: `model(async ({ messages }) => ({ model: 'm', content: '…' }))`. */
export function model(say: Model): Answerer {
  return async (asked) => {
    const { key, request } = asked
    if (request.method !== 'sampling/createMessage') throw wrongKind(key, 'model()', request)
    const { content, role = 'assistant', ...said } = await say(request.params, asked)
    const block = typeof content === 'string' ? { type: 'text', text: content } : content
    return responseTo(key, request, { role, content: block, ...said })
  }
}
