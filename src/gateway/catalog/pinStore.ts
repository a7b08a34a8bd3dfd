/** Pin stores: their contract, the JSON that a file and a database hold, and the stores in memory and in a database. */
import { ClientError } from '../../client/index.ts'
import { isObject, parseJson, unref, withoutUndefined } from '../../protocol/index.ts'
import type { DefinitionDigests } from './definition.ts'
import type { PinnedTool, Pins } from './pins.ts'

export interface PinStore {
  /** The place, for messages: the path of a file, or a database. */
  readonly place: string
  /** Loads the pins; empty before the first pin. */
  load(): Promise<Pins>
  /** Applies a change to the current pins, and stores them if they changed. */
  update(change: (pins: Pins) => Pins): Promise<Pins>
  /** Calls back when the pins may have changed. Returns a function that stops watching. */
  watch(onChange: () => void): () => void
}

/** Pins that last as long as the process. */
export function memoryPins(): PinStore {
  let known: Pins = new Map()
  return {
    place: 'memory',
    load: async () => known,
    update: async (change) => {
      known = change(known)
      return known
    },
    watch: () => () => {},
  }
}

/** A versioned text in a database, without the text if that version is known already. */
export interface PinText {
  read(known?: string): Promise<{ readonly version: string; readonly text?: string }>
  update(change: (text: string | undefined) => string | undefined): Promise<void>
}

const DATABASE = 'The row "pins" of shared_texts in the database'
const WATCH_MS = 2000

/** Pins that the gateways of a database share. While it cannot be reached, those read last count. */
export function databasePins(shared: PinText): PinStore {
  let known: { readonly version: string; readonly pins: Pins } | undefined
  const load = async (): Promise<Pins> => {
    const { version, text } = await shared.read(known?.version)
    if (known?.version !== version) known = { version, pins: text === undefined ? new Map() : readPins(text, DATABASE) }
    return known.pins
  }
  const current = (): Promise<Pins> =>
    load().catch((error: unknown) => {
      if (known === undefined) throw error
      return known.pins
    })
  return {
    place: DATABASE,
    load,
    update: async (change) => {
      const before = await current()
      if (change(before) === before) return before
      await shared.update((text) => {
        const pins: Pins = text === undefined ? new Map() : readPins(text, DATABASE)
        const after = change(pins)
        return after === pins ? undefined : pinsText(after)
      })
      return load()
    },
    watch: (onChange) => {
      let seen = known?.version
      const look = async (): Promise<void> => {
        const { version } = await shared.read(seen)
        if (version !== seen) onChange()
        seen = version
      }
      const timer = unref(setInterval(() => void look().catch(() => {}), WATCH_MS))
      return () => clearInterval(timer)
    },
  }
}

const VERSION = 1

export function pinsText(pins: Pins): string {
  const servers = Object.fromEntries([...pins].map(([server, tools]) => [server, Object.fromEntries(tools)]))
  return `${JSON.stringify({ version: VERSION, servers }, null, 2)}\n`
}

/** Invalid pins never count as no pins: every changed definition would be pinned as if it were the first. */
export function readPins(text: string, place: string): Pins {
  const value = parseJson(text, Infinity)
  const { version, servers } = isObject(value) ? value : {}
  if (version !== VERSION || !isObject(servers)) throw invalid(place)
  return new Map(Object.entries(servers).map(([server, tools]) => [server, readTools(tools, place)]))
}

function readTools(tools: unknown, place: string): ReadonlyMap<string, PinnedTool> {
  if (!isObject(tools)) throw invalid(place)
  return new Map(
    Object.entries(tools).map(([tool, pin]) => {
      const { pinned, texts, offered, news } = isObject(pin) ? pin : {}
      if (![pinned, texts, offered, news].every(isTextsOrNone)) throw invalid(place)
      if (pinned === undefined && offered === undefined) throw invalid(place)
      return [tool, withoutUndefined({ pinned, texts, offered, news })]
    }),
  )
}

function isTextsOrNone(value: unknown): value is DefinitionDigests | undefined {
  return value === undefined || (isObject(value) && Object.values(value).every((text) => typeof text === 'string'))
}

function invalid(place: string): ClientError {
  const sentence = `${place} does not hold pins of tools; restore it, or remove it to pin what servers offer next.`
  return new ClientError('CONFIG_INVALID', sentence)
}
