import type { Verdict } from '../../probe/index.ts'

/** What a verdict means for who runs the server. No verdict is named in it: scripts look for those words. */
export function meaningOf({ state, transport, declared }: Verdict): string {
  // One that keeps no sessions may still seal with a key that it shares with nobody.
  if (state === 'STATELESS' && transport === 'http' && declared?.session?.poolable === false) return NOT_POOLABLE
  return MEANINGS[state][transport]
}

const NOT_POOLABLE =
  'it needs no sessions, but declares that its instances cannot stand in for each other (poolable: false)'
const UNDECIDED = 'until it is decided, take it for one that needs its sessions; --explain shows what it answered'

const MEANINGS = {
  STATELESS: {
    http: 'a load balancer may send each request to any instance',
    stdio: 'any process of it may serve any request',
  },
  STATEFUL: {
    http: 'run one instance, or send all requests of a session to the same one',
    stdio: 'each client needs a process of its own, for as long as it works',
  },
  UNKNOWN: { http: `${UNDECIDED}, --header lets the probe in`, stdio: UNDECIDED },
} as const
