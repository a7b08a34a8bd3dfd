/** What the names of places say: a cache, a limit, a log or a setting is kept by many servers that are stateless. */
import type { KeptPlace } from './kept.ts'

const TRANSPORT = / (transports?|servers?|http|sse|shutting|shutdown) /
const CACHE =
  / (cache\w*|cached|memoi[sz]\w*|ttl|lru|snapshot\w*|fetched|loaded|prefetch\w*|etag|stale|indexed|refresh\w*) /
const LIMIT =
  / (rate|limit\w*|bucket\w*|throttl\w*|semaphore|concurren\w*|circuit|breaker|retry|retries|remaining|queue\w*|lock\w*|mutex|in ?flight|cooldown|delay|backoff|slots?) /
const LOG =
  / (log\w*|metric\w*|telemetry|audit\w*|stats?|statistics|analytics|trace\w*|spans?|perf\w*|monitor|usage|warned|reported|emitted|timers?|timings?) /
const SETTING =
  / (config\w*|options?|settings?|env|schema\w*|axios\w*|instance|promise|pool|initiali[sz]\w*|ready|verified|checked|version|module|api|client\w*|db|database|driver|http|sdk|service|provider\w*|fetch\w*|handle) /
const REGISTRY =
  / (tools?|handlers?|registry|registered|subscri\w*|prompts?|callbacks?|listeners?|plugins?|middleware\w*|resolvers?|validators?) /
const PENDING = / (pending|next id|request ?id|id counter|seq\w*|message id|waiting|resolve\w*|waiters?) /
const TOKEN = / (token\w*|expir\w*|auth\w*|cookie\w*|credential\w*|jwt|jwks|csrf|oauth|login|access|key|password) /
const LIVE =
  / (session\w*|current\w*|active\w*|selected|history|browser\w*|pages?|tabs?|contexts?|connections?|connected|process\w*|child\w*|states?|thoughts?|conversations?|jobs?|tasks?|running|breakpoints?|messages?|buffers?|outputs?|memor\w*|games?|boards?|players?|canvas\w*|scenes?|projects?|workspace\w*|cwd|dir\w*|last\w*|default\w*|previous|sockets?|ws|terminals?|windows?|console|network|files?|documents?|notes?|items?|steps?|branches|nodes|entities|mode|enabled|language|user\w*|profile\w*|account\w*) /
const CHOSEN = / (session\w*|current\w*|active\w*|selected|history|running|default\w*|open\w*|connect\w*) /
const NEVER_CHOSEN = / (cache\w*|log|limit\w*|transports?) /

/** Files that serve HTTP or report on the program: a program on stdio does not use what they keep for its answers. */
const ASIDE = / (http|sse|streamable|transports?|telemetry|analytics|web server|oauth) /

const QUIET = [TRANSPORT, CACHE, LIMIT, LOG, SETTING, REGISTRY, PENDING]
/** Also told by the class or the file that a place is in. */
const QUIET_OWNERS = [CACHE, LIMIT, LOG, SETTING]
const QUIET_FILES = [CACHE, LIMIT, LOG]

export function isQuiet(kept: KeptPlace): boolean {
  const { place } = kept
  const name = wordsOf(place.name)
  if (ASIDE.test(wordsOf(place.file))) return true
  if (kept.isCrossed && CHOSEN.test(name) && !NEVER_CHOSEN.test(name)) return false
  if (QUIET.some((words) => words.test(name))) return true
  const owner = wordsOf(place.owner?.name ?? '')
  if (QUIET_OWNERS.some((words) => words.test(owner) && (words !== SETTING || !LIVE.test(name)))) return true
  return (
    !LIVE.test(name) &&
    !TOKEN.test(name) &&
    QUIET_FILES.some((words) => words.test(wordsOf(place.file.replace(/.*\//, ''))))
  )
}

export function isLive(kept: KeptPlace): boolean {
  return !isQuiet(kept) && LIVE.test(wordsOf(kept.place.name))
}

/** ` session by id `: in lower case, with a space before and after each word. */
function wordsOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[^A-Za-z0-9]+/g, ' ')
  return ` ${words.trim().toLowerCase()} `
}
