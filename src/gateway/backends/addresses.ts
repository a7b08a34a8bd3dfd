/** How a server is addressed: by the gateway itself, and for a caller, on whom its headers may depend. */
import type { Address } from '../../client/index.ts'
import type { Principal } from '../../server/internal.ts'
import { type BackendConfig, dependOnPrincipal, headersFor } from '../config/index.ts'
import { BackendError } from '../errors.ts'

/** Whether callers have headers of their own. */
export function isPersonal(address: Address): boolean {
  return 'url' in address && dependOnPrincipal(address.headers)
}

/** With the headers of this caller. */
export function addressFor({ name, address }: BackendConfig, principal: Principal | undefined): Address {
  if (!isPersonal(address) || !('url' in address)) return address
  const found = headersFor(address.headers, principal)
  if (found.kind === 'refused') throw new BackendError('BACKEND_REFUSED', name, `was not asked. ${found.sentence}`)
  return { ...address, headers: found.headers }
}

/** The gateway itself is no caller, so that headers which depend on one are left out. */
export function ownAddress(address: Address): Address {
  if (!('url' in address)) return address
  const fixed = Object.entries(address.headers ?? {}).filter(([name, value]) => !dependOnPrincipal({ [name]: value }))
  return { ...address, headers: Object.fromEntries(fixed) }
}
