/**
 * Directories from before a reload. A call that began before it, and waits for its client, continues under its name
 * until the drain timeout; no new call begins there.
 */
import { unref } from '../../../protocol/index.ts'
import { DRAIN_MS } from '../../../server/internal.ts'
import type { RouteDirectory } from '../directory.ts'

/** Maximum number kept: a file may be written many times within that timeout. */
const MAX_FORMER = 8

export class FormerDirectories {
  /** Latest first. */
  readonly #kept: RouteDirectory[] = []

  /** Keeps a snapshot of this directory until the drain timeout. */
  keep(directory: RouteDirectory): void {
    const former = directory.frozen()
    this.#kept.unshift(former)
    this.#kept.splice(MAX_FORMER)
    unref(setTimeout(() => this.#drop(former), DRAIN_MS))
  }

  /** The matches in all of them, latest first. */
  all<T>(look: (directory: RouteDirectory) => T | undefined): readonly T[] {
    return this.#kept.flatMap((directory) => look(directory) ?? [])
  }

  /**
   * Whether rounds of calls may come that are parked at a server of an earlier configuration: their tickets must be
   * read.
   */
  get mayHaveParked(): boolean {
    return this.#kept.some(({ hasLegacyServer }) => hasLegacyServer)
  }

  #drop(former: RouteDirectory): void {
    const index = this.#kept.indexOf(former)
    if (index >= 0) this.#kept.splice(index, 1)
  }
}
