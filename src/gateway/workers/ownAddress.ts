/** Where the other workers, and gateways of other machines, reach one worker: the address of clients leads to any of them. */
import type { WorkerStart } from './rpc.ts'

const NO_TLS =
  'PANNIER_ADVERTISE is an https: address, and the workers of a gateway are reached without TLS. Set one with http:, or start gateways of one process each, which a proxy with TLS may stand before.'

const WRONG_ADDRESS =
  'PANNIER_ADVERTISE must be an address of this gateway as others reach it, such as "http://10.0.0.7:8931".'
const NO_ADDRESS = { protocol: '', hostname: '', port: '' }

/**
 * On this machine alone, at any free port; or, where PANNIER_ADVERTISE says how other machines reach this one, at its host. The
 * workers have the ports from its port on, one after the other, unless that is the port of clients: then any free ones.
 */
export function ownAddress(worker: number, clientPort: number, advertise: string | undefined): WorkerStart['own'] {
  if (advertise === undefined || advertise === '') return { host: '127.0.0.1', port: 0, advertise: undefined }
  const { protocol, hostname, port } = URL.parse(advertise) ?? NO_ADDRESS
  if (!/^https?:$/.test(protocol)) throw new TypeError(WRONG_ADDRESS)
  if (protocol === 'https:') throw new TypeError(NO_TLS)
  const first = Number(port)
  const isOwn = first !== 0 && first !== clientPort
  return {
    host: hostname.startsWith('[') ? '::' : '0.0.0.0',
    port: isOwn ? first + worker - 1 : 0,
    advertise: hostname,
  }
}
