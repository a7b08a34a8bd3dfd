import type { InputRequest } from '@modelcontextprotocol/client'
import { declaresAll, neededCapability, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'

/** A client is asked only for what it declared; it is told what is missing. */
export function assertAskable({ peer }: Call, request: InputRequest): void {
  const needed = neededCapability(request)
  if (declaresAll(peer.capabilities, needed)) return
  const names = Object.keys(needed).join(', ')
  throw new ProtocolError('CAPABILITY_MISSING', `This needs a client that declares: ${names}.`, {
    requiredCapabilities: needed,
  })
}
