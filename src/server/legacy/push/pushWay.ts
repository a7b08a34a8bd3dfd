import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../../protocol/index.ts'
import type { Call, CarriedCall } from '../../call.ts'
import type { StreamHandOff } from './handOff.ts'
import type { PushStream } from './state.ts'

/** The channel of a question to the client. */
export interface PushWay {
  /** Sends messages together: a connection that breaks brings all of them or none. */
  send(...messages: readonly Json[]): void
  /** Hands the call off; absent if no other instance reaches the client. */
  readonly elsewhere?: PushElsewhere
}

/** The hand-off of a waiting call. */
export interface PushElsewhere {
  /** The current contents of the stream, for another instance. */
  contents(): Pick<StreamHandOff, 'name' | 'position' | 'kept' | 'progress'>
  /** Releases the call: another instance answers it. */
  handOff(): void
}

/** A question of a call, and its channel to the client. */
export interface PushedQuestion {
  readonly call: Call
  readonly request: InputRequest
  readonly carried: CarriedCall
  /** Whether the question has a state outside this process. */
  readonly isCarried: boolean
  readonly stream: PushStream
  readonly way: PushWay
}

/** Notifies the client that the question with this id needs no answer. */
export function withdrawal(requestId: string): Json {
  const reason = 'It is asked once more, or was answered.'
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } }
}
