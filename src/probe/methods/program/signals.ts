/**
 * What the text of a program says about what its process keeps. Each signal names the places that show it: a file, a line
 * and an identifier, never what is written there. `weights.ts` says how much each counts.
 */
import { plainLine } from '../../../client/index.ts'
import type { KeptPlace } from './kept.ts'
import { isQuiet, isLive } from './words.ts'

/** What was found in the files of a program. */
export interface ProgramFacts {
  readonly kept: readonly KeptPlace[]
  /** The packages that it depends on or imports. */
  readonly packages: readonly string[]
  readonly handlers: number
  /** Files that could not be parsed, or were too long, or are bundles whose parts cannot be told apart. */
  readonly unread: number
  readonly read: number
}

export interface FoundProgramSignal {
  readonly name: ProgramSignalName
  /** From 0 to 1. */
  readonly strength: number
  readonly sentence: string
}

interface PlaceSignal {
  /** Follows the name of a place. */
  readonly because: string
  readonly isShown: (kept: KeptPlace) => boolean
}

const isCounted = ({ kind }: KeptPlace): boolean => kind === 'counted'
const isNoted = (kept: KeptPlace): boolean => !isQuiet(kept) && !kept.isSaved

/** Whether a place says more than that a cache, a limit or a connection is kept. */
function isHeard(kept: KeptPlace): boolean {
  if (kept.isCrossed) return !isCounted(kept)
  return isNoted(kept) && kept.kind !== 'first'
}

const PLACES = {
  left: {
    because: 'is filled by some calls and read by others',
    isShown: (kept) => kept.isCrossed && isNoted(kept) && kept.kind === 'filled',
  },
  chosen: {
    because: 'is set by some calls and read by others',
    isShown: (kept) => kept.isCrossed && isNoted(kept) && (kept.kind === 'set' || kept.kind === 'first'),
  },
  leftQuietly: {
    because: 'is written by some calls and read by others, but may be a cache, a setting or a token',
    isShown: (kept) => kept.isCrossed && !isCounted(kept) && isQuiet(kept) && !kept.isSaved,
  },
  saved: {
    because: 'is written by some calls and read by others, and is saved as well',
    isShown: (kept) => kept.isCrossed && !isCounted(kept) && kept.isSaved,
  },
  appended: {
    because: 'grows with each call',
    isShown: (kept) => !kept.isCrossed && !isQuiet(kept) && kept.isAppended,
  },
  filled: {
    because: 'is filled and read by the same calls',
    isShown: (kept) => !kept.isCrossed && !isQuiet(kept) && !kept.isAppended && kept.kind === 'filled',
  },
  set: {
    because: 'is set and read by the same calls',
    isShown: (kept) => !kept.isCrossed && !isQuiet(kept) && kept.kind === 'set',
  },
  first: {
    because: 'is made by the first call that needs it',
    isShown: (kept) => !kept.isCrossed && isLive(kept) && kept.kind === 'first',
  },
  counted: { because: 'is counted by calls', isShown: (kept) => !isQuiet(kept) && isCounted(kept) },
  quiet: {
    because: 'is a cache, a limit, a log or a setting',
    isShown: (kept) => !kept.isCrossed && isQuiet(kept),
  },
  emptied: {
    because: 'is filled and emptied by calls',
    isShown: (kept) => !isQuiet(kept) && !isCounted(kept) && kept.isEmptied,
  },
  event: { because: 'is written when something happens', isShown: (kept) => !isQuiet(kept) && kept.isByEvent },
  environment: {
    because: 'is changed by calls',
    isShown: ({ place }) => place.name === 'process.env',
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

/** Whether enough was read to tell anything: some handler of a tool, and more files than could not be read. */
export function isTelling({ handlers, read, unread }: ProgramFacts): boolean {
  return handlers > 0 && read >= unread
}

export function programSignals({ kept, packages, unread }: ProgramFacts): readonly FoundProgramSignal[] {
  const long = kept.filter(({ isShort }) => !isShort)
  const isSilent = unread === 0 && !long.some(isHeard)
  return [
    ...Object.entries(PLACES).flatMap(([name, signal]) => placeSignal(name as PlaceName, signal, long)),
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
): readonly FoundProgramSignal[] {
  const found = kept.filter(isShown)
  if (found.length === 0) return []
  const shown = found.slice(0, MAX_NAMED).map(shownPlace)
  const more = found.length > MAX_NAMED ? `, and ${found.length - MAX_NAMED} more` : ''
  return [{ name, strength: 1, sentence: `${shown.join('; ')}${more} ${because}.` }]
}
