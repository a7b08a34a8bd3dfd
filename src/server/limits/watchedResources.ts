/**
 * Which resources somebody watches, whatever the era, so that a gateway can watch them at the servers behind it. Where there
 * is a limit, one caller has at most half of it, and whoever has less than an equal part of it always has room.
 */
import { groupOf } from '../../state/stores/index.ts'

export class WatchedResources {
  readonly #watchers = new Map<string, number>()
  readonly #held = new Map<string, number>()
  #all = 0

  /** How many all callers may watch together, each counted for itself. Callers of one network are one. */
  max = Number.POSITIVE_INFINITY
  /** Called when a resource gets its first watcher, and when it has lost its last. */
  onChange: (uri: string, isWatched: boolean) => void = () => {}

  /** Gives those that the caller has room for. */
  add(uris: Iterable<string>, holder = ''): string[] {
    const added: string[] = []
    for (const uri of uris) {
      if (!this.#hold(groupOf(holder))) continue
      added.push(uri)
      const before = this.#watchers.get(uri) ?? 0
      this.#watchers.set(uri, before + 1)
      if (before === 0) this.onChange(uri, true)
    }
    return added
  }

  /** Of those that were added for the same caller. */
  remove(uris: Iterable<string>, holder = ''): void {
    for (const uri of uris) {
      this.#release(groupOf(holder))
      const left = (this.#watchers.get(uri) ?? 0) - 1
      if (left > 0) this.#watchers.set(uri, left)
      else if (this.#watchers.delete(uri)) this.onChange(uri, false)
    }
  }

  #hold(group: string): boolean {
    const held = this.#held.get(group) ?? 0
    const holders = this.#held.size + (held === 0 ? 1 : 0)
    const share = this.#all < this.max ? this.max / 2 : Math.max(1, this.max / holders)
    if (held >= share) return false
    this.#held.set(group, held + 1)
    this.#all++
    return true
  }

  #release(group: string): void {
    const left = (this.#held.get(group) ?? 0) - 1
    if (left > 0) this.#held.set(group, left)
    else this.#held.delete(group)
    this.#all--
  }
}
