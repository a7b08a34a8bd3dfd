/** Where other gateways reach a route, and where it looks for them, by the variables of the process. */
import type { ServerOptions } from '../../server/index.ts'

/** Each route is reached at its own path of the gateways' addresses. */
export function addressesOf(path: string): Pick<ServerOptions, 'advertise' | 'peers'> {
  const { PANNIER_ADVERTISE: advertise, PANNIER_PEERS: peers } = process.env
  const at = (variable: string, base: string): string => {
    const url = URL.canParse(base.trim()) ? new URL(path, base.trim()) : undefined
    if (url !== undefined && /^https?:$/.test(url.protocol)) return url.href
    throw new TypeError(
      `${variable} must have addresses of gateways as others reach them, such as "http://10.0.0.7:8931".`,
    )
  }
  return {
    ...(advertise && { advertise: at('PANNIER_ADVERTISE', advertise) }),
    ...(peers && { peers: peers.split(',').map((base) => at('PANNIER_PEERS', base)) }),
  }
}
