/**
 * What names led to before the configuration was read again. A call that began before, and waits for its client, goes on
 * under its name for as long as a drain takes; no other call begins there.
 */
import { unref } from '../../../protocol/index.ts'
import { DRAIN_MS } from '../../../server/internal.ts'
import type { RouteDirectory } from '../directory.ts'

/** A file may be written many times in that time. */
const MAX_FORMER = 8

export class FormerDirectories {
  /** The latest first. */
  readonly #kept: RouteDirectory[] = []

  /** What this directory says now is kept for a while. */
  keep(directory: RouteDirectory): void {
    const former = directory.frozen()
    this.#kept.unshift(former)
    this.#kept.splice(MAX_FORMER)
    unref(setTimeout(() => this.#drop(former), DRAIN_MS))
  }

  /** What is found there, the latest first. */
  all<T>(look: (directory: RouteDirectory) => T | undefined): readonly T[] {
    return this.#kept.flatMap((directory) => look(directory) ?? [])
  }

  /** Whether rounds may come of calls that are parked at a server of before: their tickets have to be read. */
  get mayHaveParked(): boolean {
    return this.#kept.some(({ hasLegacyServer }) => hasLegacyServer)
  }

  #drop(former: RouteDirectory): void {
    const index = this.#kept.indexOf(former)
    if (index >= 0) this.#kept.splice(index, 1)
  }
}
