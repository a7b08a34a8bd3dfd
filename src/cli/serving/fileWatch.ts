/** Watches single files by their folders, because editors put a new file in the place of the old one. */
import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors write a file in several steps, and often several files. */
const SETTLED_MS = 200

export class FileWatch {
  readonly #folders = new Map<string, { readonly watcher: FSWatcher; readonly names: Set<string> }>()
  readonly #onChange: (path: string) => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(onChange: (path: string) => void) {
    this.#onChange = onChange
  }

  add(path: string): void {
    const folder = dirname(path)
    const watched = this.#folders.get(folder)
    if (watched !== undefined) return void watched.names.add(basename(path))
    const names = new Set([basename(path)])
    const watcher = watch(folder, (_, name) => {
      if (name === null || !names.has(name)) return
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#onChange(`${folder}/${name}`), SETTLED_MS)
    })
    watcher.on('error', () => undefined) // the folder was removed
    this.#folders.set(folder, { watcher, names })
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const { watcher } of this.#folders.values()) watcher.close()
  }
}
