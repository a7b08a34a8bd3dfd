/**
 * Evidence in a program's text for state in its process. Each signal names the places that show it: a file, a line and
 * an identifier, but no code. `weights.ts` says how much each counts.
 */
import { plainLine } from '../../../client/index.ts'
import type { FoundSignal } from '../toolSignals.ts'
import type { KeptPlace } from './kept.ts'

/** The facts in the files of a program. */
export interface ProgramFacts {
  readonly kept: readonly KeptPlace[]
  /** The packages that it depends on or imports. */
  readonly packages: readonly string[]
  readonly handlers: number
  /** Files that could not be parsed, were too long, or are bundles whose parts cannot be separated. */
  readonly unread: number
  readonly read: number
}

interface PlaceSignal {
  /** Follows the name of a place. */
  readonly because: string
  readonly isShown: (kept: KeptPlace) => boolean
}

const isNoted = (kept: KeptPlace): boolean => !isQuiet(kept) && !kept.isSaved

const PLACES = {
  left: {
    because: 'is filled by some calls and read by others',
    isShown: (kept) => kept.isCrossed && isNoted(kept) && kept.isFilled,
  },
  chosen: {
    because: 'is set by some calls and read by others',
    isShown: (kept) => kept.isCrossed && isNoted(kept) && !kept.isFilled,
  },
  leftQuietly: {
    because: 'is written by some calls and read by others, but may be a cache, a setting or a token',
    isShown: (kept) => kept.isCrossed && isQuiet(kept) && !kept.isSaved,
  },
  filled: {
    because: 'is filled and read by the same calls',
    isShown: (kept) => !kept.isCrossed && !isQuiet(kept) && kept.isFilled,
  },
  quiet: {
    because: 'is a cache, a limit, a log or a setting',
    isShown: (kept) => !kept.isCrossed && isQuiet(kept),
  },
} as const satisfies Readonly<Record<string, PlaceSignal>>

const PACKAGES = {
  browser: {
    because: 'It can keep a browser: it depends on',
    named:
      /^(@?playwright|puppeteer|patchright|selenium-webdriver|webdriverio|rebrowser|chrome-remote-interface|appium|@wdio)/,
  },
  terminal: {
    because: 'It can keep a terminal or a connection: it depends on',
    named:
      /^(node-pty|@lydell\/node-pty|@homebridge\/node-pty.*|ssh2|node-ssh|ssh2-sftp-client|serialport|@xterm\/headless)/,
  },
  socket: { because: 'It can keep a connection: it depends on', named: /^(ws|socket\.io(-client)?|mqtt|websocket)$/ },
  chat: {
    because: 'It can keep a login: it depends on',
    named: /^(discord\.js|telegram|whatsapp-web\.js|@whiskeysockets\/baileys|matrix-js-sdk)$/,
  },
} as const

/** Whether the whole program was read, and nothing was found. */
const SILENT = {
  name: 'nothing',
  strength: 1,
  sentence: 'No call leaves anything in the process, as far as its files tell.',
} as const

type PlaceName = keyof typeof PLACES
type PackageName = keyof typeof PACKAGES
export type ProgramSignalName = PlaceName | PackageName | typeof SILENT.name

export const PROGRAM_SIGNALS = [
  ...(Object.keys(PLACES) as PlaceName[]),
  ...(Object.keys(PACKAGES) as PackageName[]),
  SILENT.name,
] as readonly ProgramSignalName[]

const MAX_NAMED = 3

/** Whether enough was read for a judgement: at least one handler of a tool, and more readable than unreadable files. */
export function isTelling({ handlers, read, unread }: ProgramFacts): boolean {
  return handlers > 0 && read >= unread
}

export function programSignals({ kept, packages, unread }: ProgramFacts): readonly FoundSignal<ProgramSignalName>[] {
  const isSilent = unread === 0 && !kept.some((one) => one.isCrossed || isNoted(one))
  return [
    ...Object.entries(PLACES).flatMap(([name, signal]) => placeSignal(name as PlaceName, signal, kept)),
    ...Object.entries(PACKAGES).flatMap(([name, { because, named }]) => {
      const found = packages.find((one) => named.test(one))
      const sentence = `${because} ${found ?? ''}.`
      return found === undefined ? [] : [{ name: name as PackageName, strength: 1, sentence }]
    }),
    ...(isSilent ? [SILENT] : []),
  ]
}

/** A name that is no identifier was a text in the program, and is not shown. */
function shownPlace({ place }: KeptPlace): string {
  const name = /^[#\w$.]{1,60}$/.test(place.name) ? `\`${place.name}\`` : 'a name in quotes'
  return `${plainLine(place.file, 100)}, line ${place.line}: ${name}`
}

function placeSignal(
  name: PlaceName,
  { because, isShown }: PlaceSignal,
  kept: readonly KeptPlace[],
): readonly FoundSignal<ProgramSignalName>[] {
  const found = kept.filter(isShown)
  if (found.length === 0) return []
  const shown = found.slice(0, MAX_NAMED).map(shownPlace)
  const more = found.length > MAX_NAMED ? `, and ${found.length - MAX_NAMED} more` : ''
  return [{ name, strength: 1, sentence: `${shown.join('; ')}${more} ${because}.` }]
}

// Names of places that many stateless servers have: a cache, a limit, a log or a setting.
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

/** Files that serve HTTP or report on the program: a program on stdio does not use their state for its answers. */
const ASIDE = / (http|sse|streamable|transports?|telemetry|analytics|web server|oauth) /

const QUIET = [TRANSPORT, CACHE, LIMIT, LOG, SETTING, REGISTRY, PENDING]
/** Also told by the class or the file that a place is in. */
const QUIET_OWNERS = [CACHE, LIMIT, LOG, SETTING]
const QUIET_FILES = [CACHE, LIMIT, LOG]

function isQuiet(kept: KeptPlace): boolean {
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

/** ` session by id `: in lower case, with a space before and after each word. */
function wordsOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[^A-Za-z0-9]+/g, ' ')
  return ` ${words.trim().toLowerCase()} `
}
