/** Where requests go: a URL, and where its name has several addresses, which of them. */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'

export interface Place {
  readonly url: URL
  /** The address to connect to in place of the one that the name would give. */
  readonly address?: string
}

/** The addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** Without the query, which may hold a secret. */
export function placeText({ url, address }: Place): string {
  return url.origin + url.pathname + (address === undefined ? '' : ` at ${address}`)
}

/** A name that has several addresses, once for each of them; else nothing. */
export async function addressesOf(url: URL, lookup: Lookup = ofTheSystem): Promise<readonly Place[]> {
  const host = hostOf(url)
  if (isIP(host) !== 0 || host === 'localhost') return []
  const found = await lookup(host).catch(() => [])
  // One machine often has an address of either kind, so only those of one kind are several machines.
  const kind = isIP(found[0] ?? '')
  const alike = [...new Set(found.filter((address) => isIP(address) === kind))]
  return alike.length < 2 ? [] : alike.map((address) => ({ url, address }))
}

/** The same place, at the first address of its name. */
export async function locate(place: Place, lookup: Lookup): Promise<Place> {
  const host = hostOf(place.url)
  const [address] = isIP(host) === 0 ? await lookup(host) : []
  return address === undefined ? place : { ...place, address }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function ofTheSystem(host: string): Promise<readonly string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address)
}
