/** Pins in a file, by default beside the mcp.json file. */
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { ClientError, writePrivateFile } from '../../client/index.ts'
import { errnoOf } from '../../client/internal.ts'
import { StateError } from '../../state/internal.ts'
import { lockFile } from '../../state/stores/index.ts'
import type { Pins } from './pins.ts'
import { type PinStore, pinsText, readPins } from './pinStore.ts'

/** The pins of `mcp.json` are in `mcp.pins.json`. */
export function pinPath(configFile: string): string {
  return `${configFile.replace(/\.jsonc?$/i, '')}.pins.json`
}

const WATCH_MS = 1000

export function pinFile(path: string): PinStore {
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
    place: path,
    load,
    // A FIFO lock within this process: each change sees what the previous one wrote.
    update: (change) => {
      const updated = last.then(() => updateNow(change))
      last = updated.catch(() => undefined)
      return updated
    },
    // Polls the file's mtime, which also works for a file that is replaced or does not exist yet.
    watch: (onChange) => {
      watchFile(path, { interval: WATCH_MS, persistent: false }, onChange)
      return () => unwatchFile(path, onChange)
    },
  }
}

async function write(path: string, pins: Pins): Promise<void> {
  try {
    await writePrivateFile(path, pinsText(pins))
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

function unreadable(path: string, code: string, cause: unknown): ClientError {
  return new ClientError('CONFIG_UNREADABLE', `Cannot read the pins of tools in ${path} (${code}).`, { cause })
}

function unwritable(path: string, why: string, cause: unknown): ClientError {
  const sentence = `Cannot write the pins of tools to ${path} (${why}); check its folder and rights, or choose another place with "pins" under "gateway".`
  return new ClientError('CONFIG_UNREADABLE', sentence, { cause })
}

function locking(lock: string, cause: StateError): ClientError {
  const sentence = `Cannot write the pins of tools, whose lock is ${lock}: ${cause.message}`
  return new ClientError('CONFIG_UNREADABLE', sentence, { cause })
}
