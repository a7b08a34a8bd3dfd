/** Pins in a file beside the mcp.json file: digests, and the texts that wait to be accepted. */
import { readFile } from 'node:fs/promises'
import { ClientError, writePrivateFile } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { isObject, parseJson } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { lockFile } from '../../state/stores/index.ts'
import type { DefinitionDigests } from './definition.ts'
import type { PinnedTool, Pins } from './pins.ts'

export interface PinFile {
  readonly path: string
  /** Loads the pins; none if there is no file. */
  load(): Promise<Pins>
  /** Applies a change to the file's current pins, and writes them if they changed. */
  update(change: (pins: Pins) => Pins): Promise<Pins>
}

/** The pins of `mcp.json` are in `mcp.pins.json`. */
export function pinPath(configFile: string): string {
  return `${configFile.replace(/\.jsonc?$/i, '')}.pins.json`
}

export function pinFile(path: string): PinFile {
  let last: Promise<unknown> = Promise.resolve()
  const load = async (): Promise<Pins> => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw unreadable(path, errnoOf(error), error)
    })
    return text === undefined ? new Map() : readPins(text, path)
  }
  // Without a change there is no write and no lock, so the folder may be read-only.
  const updateNow = async (change: (pins: Pins) => Pins): Promise<Pins> => {
    const before = await load()
    return change(before) === before ? before : locked(path, () => writeChanged(change))
  }
  const writeChanged = async (change: (pins: Pins) => Pins): Promise<Pins> => {
    const before = await load()
    const after = change(before)
    if (after !== before) await write(path, after)
    return after
  }
  return {
    path,
    load,
    // A FIFO lock within this process: each change sees what the previous one wrote.
    update: (change) => {
      const updated = last.then(() => updateNow(change))
      last = updated.catch(() => undefined)
      return updated
    },
  }
}

const VERSION = 1

async function write(path: string, pins: Pins): Promise<void> {
  const servers = Object.fromEntries([...pins].map(([server, tools]) => [server, Object.fromEntries(tools)]))
  try {
    await writePrivateFile(path, `${JSON.stringify({ version: VERSION, servers }, null, 2)}\n`)
  } catch (cause) {
    throw unwritable(path, errnoOf(cause), cause)
  }
}

/**
 * A lock between processes: workers, other gateways and `pannier gateway accept` change one file, and no pin may be
 * lost.
 */
async function locked<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  const lock = `${path}.lock`
  const free = await lockFile(lock).catch((cause: unknown) => {
    throw cause instanceof StateError ? locking(lock, cause) : unwritable(path, errnoOf(cause), cause)
  })
  return run().finally(free)
}

/** Invalid pins never count as no pins: every changed definition would be pinned as if it were the first. */
function readPins(text: string, path: string): Pins {
  const value = parseJson(text, Infinity)
  const { version, servers } = isObject(value) ? value : {}
  if (version !== VERSION || !isObject(servers)) throw invalid(path)
  return new Map(Object.entries(servers).map(([server, tools]) => [server, readTools(tools, path)]))
}

function readTools(tools: unknown, path: string): ReadonlyMap<string, PinnedTool> {
  if (!isObject(tools)) throw invalid(path)
  return new Map(
    Object.entries(tools).map(([tool, pin]) => {
      const { pinned, offered, news } = isObject(pin) ? pin : {}
      if (!isTextsOrNone(pinned) || !isTextsOrNone(offered) || !isTextsOrNone(news)) throw invalid(path)
      if (pinned === undefined && offered === undefined) throw invalid(path)
      return [tool, { ...(pinned && { pinned }), ...(offered && { offered }), ...(news && { news }) }]
    }),
  )
}

function isTexts(value: unknown): value is DefinitionDigests {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
}

function isTextsOrNone(value: unknown): value is DefinitionDigests | undefined {
  return value === undefined || isTexts(value)
}

function unreadable(path: string, code: string, cause: unknown): ClientError {
  return new ClientError('CONFIG_UNREADABLE', `Cannot read the pins of tools in ${path} (${code}).`, { cause })
}

function unwritable(path: string, why: string, cause: unknown): ClientError {
  const sentence = `Cannot write the pins of tools to ${path} (${why}); check its folder and rights.`
  return new ClientError('CONFIG_UNREADABLE', sentence, { cause })
}

function locking(lock: string, cause: StateError): ClientError {
  const sentence = `Cannot write the pins of tools, whose lock is ${lock}: ${cause.message}`
  return new ClientError('CONFIG_UNREADABLE', sentence, { cause })
}

function invalid(path: string): ClientError {
  const sentence = `${path} does not hold pins of tools; restore it, or remove it to pin what servers offer next.`
  return new ClientError('CONFIG_INVALID', sentence)
}
