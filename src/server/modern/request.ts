import {
  assertHeadersAgree,
  type HeaderReader,
  MODERN_VERSION,
  ProtocolError,
  type RequestMessage,
  readEnvelope,
} from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, Channel } from '../call.ts'

export interface ModernRequest {
  readonly message: RequestMessage
  readonly header: HeaderReader | undefined
  readonly principal: Principal | undefined
  readonly channel: Channel
}

/** A stateless request as a call: its envelope read, its version known, its headers in agreement. */
export function modernCall({ message, header, principal, channel }: ModernRequest): Call {
  const { version, client, capabilities, logLevel, meta } = readEnvelope(message.params)
  if (header !== undefined) assertHeadersAgree(message, version, header)
  if (version !== MODERN_VERSION) throw unsupported(version)
  const { id, method, params } = message
  const peer = { era: 'modern', version, client, capabilities, logLevel, session: undefined, rounds: true } as const
  return { id, method, params, meta, peer, principal, channel, header }
}

function unsupported(requested: string): ProtocolError {
  return new ProtocolError('VERSION_UNSUPPORTED', `This server speaks ${MODERN_VERSION}.`, {
    supported: [MODERN_VERSION],
    requested,
  })
}
