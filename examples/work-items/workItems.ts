/**
 * A very small work-item tracker in one SQLite file, so that several processes see the same items. It is the system
 * that the tool changes; the state of a call is not stored here.
 */
import { DatabaseSync } from 'node:sqlite'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, type TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS fields (item INTEGER, name TEXT, value TEXT, PRIMARY KEY (item, name)) STRICT;
  CREATE TABLE IF NOT EXISTS links (item INTEGER PRIMARY KEY, original INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS history (item INTEGER, text TEXT, author TEXT) STRICT;
`

export interface WorkItem {
  readonly id: number
  readonly type: string
  readonly fields: Readonly<Record<string, string>>
  readonly duplicateOf: number | undefined
  readonly history: readonly { readonly text: string; readonly author: string }[]
}

export class WorkItems {
  readonly #database: DatabaseSync
  readonly #author: string

  /** `author` signs what this process writes into an item's history. */
  constructor(path: string, author: string) {
    this.#database = new DatabaseSync(path, { timeout: 5000 })
    this.#database.exec(SCHEMA)
    this.#author = author
  }

  add(id: number, type: string, fields: Readonly<Record<string, string>>): void {
    this.#database.prepare('INSERT INTO items (id, type) VALUES (?, ?)').run(id, type)
    this.set(id, fields)
  }

  has(id: number): boolean {
    return this.find(id) !== undefined
  }

  find(id: number): WorkItem | undefined {
    const item = this.#database.prepare('SELECT type FROM items WHERE id = ?').get(id)
    if (item === undefined) return undefined
    const fields = this.#database.prepare('SELECT name, value FROM fields WHERE item = ?').all(id)
    const link = this.#database.prepare('SELECT original FROM links WHERE item = ?').get(id)
    const history = this.#database.prepare('SELECT text, author FROM history WHERE item = ? ORDER BY rowid').all(id)
    return {
      id,
      type: String(item['type']),
      fields: Object.fromEntries(fields.map(({ name, value }) => [String(name), String(value)])),
      duplicateOf: link === undefined ? undefined : Number(link['original']),
      history: history.map(({ text, author }) => ({ text: String(text), author: String(author) })),
    }
  }

  set(id: number, fields: Readonly<Record<string, string>>): void {
    const put = this.#database.prepare('INSERT OR REPLACE INTO fields (item, name, value) VALUES (?, ?, ?)')
    for (const [name, value] of Object.entries(fields)) put.run(id, name, value)
  }

  link(id: number, originalId: number): void {
    this.#database.prepare('INSERT OR REPLACE INTO links (item, original) VALUES (?, ?)').run(id, originalId)
  }

  note(id: number, text: string): void {
    this.#database.prepare('INSERT INTO history (item, text, author) VALUES (?, ?, ?)').run(id, text, this.#author)
  }

  close(): void {
    this.#database.close()
  }
}

/** The two bugs of the demo. */
export function addBugs(items: WorkItems): void {
  items.add(4301, 'Bug', { 'System.Title': 'Saving twice loses the second change', 'System.State': 'Active' })
  items.add(4522, 'Bug', { 'System.Title': 'My change is gone after saving', 'System.State': 'Active' })
}
