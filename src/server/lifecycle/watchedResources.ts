/** Which resources somebody watches, whatever the era, so that a gateway can watch them at the servers behind it. */
export class WatchedResources {
  readonly #watchers = new Map<string, number>()

  /** Called when a resource gets its first watcher, and when it has lost its last. */
  onChange: (uri: string, isWatched: boolean) => void = () => {}

  add(uris: Iterable<string>): void {
    for (const uri of uris) {
      const before = this.#watchers.get(uri) ?? 0
      this.#watchers.set(uri, before + 1)
      if (before === 0) this.onChange(uri, true)
    }
  }

  remove(uris: Iterable<string>): void {
    for (const uri of uris) {
      const left = (this.#watchers.get(uri) ?? 0) - 1
      if (left > 0) this.#watchers.set(uri, left)
      else if (this.#watchers.delete(uri)) this.onChange(uri, false)
    }
  }
}
