/** Begins a write to each of the given SQLite files and freezes itself: `frozenWriter PATH…`. It commits when it goes on. */
import { DatabaseSync } from 'node:sqlite'

const databases = process.argv.slice(2).map((path) => new DatabaseSync(path, { timeout: 30_000 }))
for (const database of databases) database.exec('BEGIN IMMEDIATE')
process.stdout.write('locked\n', () => {
  process.kill(process.pid, 'SIGSTOP')
  for (const database of databases) database.exec('COMMIT')
})
