/**
 * An audit log in a folder: a file for each process and day, `audit-2026-11-19-INSTANCE.jsonl`.
 *
 * - `write` returns after its line is in the file, so a killed process loses no line. It is not flushed to the disk.
 * - Files of days before the last `keepDays` are deleted when a process starts, and at the first entry of a day.
 */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { errorDetails, type Logger, unref } from '../protocol/index.ts'
import type { Keyring } from '../state/seal/index.ts'
import { AuditChain } from './chain.ts'
import type { AuditEntry } from './entry.ts'

/** Writes the entries of one process. */
export interface AuditLog {
  write(entry: AuditEntry): void
  /** Signs the last entries, and ends the chain. */
  close(): void
}

export interface AuditFolderOptions {
  readonly folder: string
  readonly keyring: Keyring
  /** How many days a file is kept after its own. */
  readonly keepDays: number
  readonly logger: () => Logger
  /** Milliseconds since 1970. @default Date.now */
  readonly clock?: () => number
  /** @default the name of the host and a random part */
  readonly instance?: string
}

/** Maximum number of lines that no head has signed, and how long. */
const SIGN_LINES = 256
const SIGN_MS = 60_000

const DAY_MS = 86_400_000
const FILE_NAME = /^audit-(\d{4}-\d\d-\d\d)-[\w.-]+\.jsonl$/

/** Throws if the folder cannot be written to. */
export function auditFolder(options: AuditFolderOptions): AuditLog {
  return new AuditFolder(options)
}

class AuditFolder implements AuditLog {
  readonly #options: AuditFolderOptions
  readonly #clock: () => number
  readonly #chain: AuditChain
  #file: { readonly day: string; readonly descriptor: number } | undefined
  #unsigned = 0
  #signing: NodeJS.Timeout | undefined
  #isClosed = false
  /** Whether the last line could not be written, which is logged once. */
  #isFailing = false

  constructor(options: AuditFolderOptions) {
    const { clock = Date.now, keyring, instance = instanceName() } = options
    this.#options = options
    this.#clock = clock
    this.#chain = new AuditChain(instance, keyring, clock)
    mkdirSync(options.folder, { recursive: true })
    this.#open(dayOf(clock()))
  }

  write(entry: AuditEntry): void {
    if (this.#isClosed) return
    this.#guarded(() => {
      this.#turnDay()
      this.#put(this.#chain.line(entry))
    })
    this.#unsigned += 1
    if (this.#unsigned >= SIGN_LINES) this.#sign()
    else this.#signing ??= unref(setTimeout(() => this.#sign(), SIGN_MS))
  }

  close(): void {
    if (this.#isClosed) return
    this.#sign({ closed: true })
    this.#isClosed = true
    if (this.#file !== undefined) closeSync(this.#file.descriptor)
  }

  #turnDay(): void {
    const day = dayOf(this.#clock())
    if (this.#file?.day === day) return
    if (this.#file !== undefined) {
      if (!this.#chain.isSigned) this.#sign()
      closeSync(this.#file.descriptor)
      this.#file = undefined
    }
    this.#open(day)
  }

  #open(day: string): void {
    const { folder } = this.#options
    this.#file = { day, descriptor: openSync(join(folder, `audit-${day}-${this.#chain.instance}.jsonl`), 'a', 0o600) }
    this.#sign()
    this.#deleteOld()
  }

  #sign(options: { readonly closed?: boolean } = {}): void {
    clearTimeout(this.#signing)
    this.#signing = undefined
    this.#unsigned = 0
    this.#guarded(() => this.#put(this.#chain.head(options)))
  }

  #put(line: string): void {
    if (this.#file === undefined) return
    // A line that failed may be there in part.
    writeSync(this.#file.descriptor, `${this.#isFailing ? '\n' : ''}${line}\n`)
    this.#isFailing = false
  }

  /** A call does not fail because its entry cannot be written; the gap is in the log, and verification finds it. */
  #guarded(write: () => void): void {
    try {
      write()
    } catch (error) {
      if (!this.#isFailing) this.#options.logger().error({ err: errorDetails(error) }, NOT_WRITTEN)
      this.#isFailing = true
    }
  }

  #deleteOld(): void {
    const { folder, keepDays } = this.#options
    const oldest = dayOf(this.#clock() - keepDays * DAY_MS)
    for (const name of readdirSync(folder)) {
      const day = FILE_NAME.exec(name)?.[1]
      if (day !== undefined && day < oldest) rmSync(join(folder, name), { force: true })
    }
  }
}

const NOT_WRITTEN = 'The audit log cannot be written: entries are missing in it until this is mended.'

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function instanceName(): string {
  const host = hostname()
    .replaceAll(/[^\w.-]/g, '')
    .slice(0, 60)
  return `${host === '' ? 'host' : host}-${randomBytes(5).toString('hex')}`
}
