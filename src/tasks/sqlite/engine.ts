/** Tasks in a SQLite file, for all processes of one machine. */
import { StateError } from '../../state/index.ts'
import type { EngineOptions, TaskEngine } from '../engine.ts'
import { engineSettings } from '../engineSettings.ts'
import { OpenEngine } from './openEngine.ts'
import { openTaskFile } from './schema.ts'

export interface SqliteEngineOptions extends EngineOptions {
  /** The file; it is made when there is none. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

/**
 * Calls are synchronous inside and may wait up to 5 s for other processes. A process that is stopped in the middle of a
 * write keeps the file's lock until it goes on or is killed, as with every SQLite file.
 */
export function sqliteEngine({ path, clock = Date.now, ...options }: SqliteEngineOptions): TaskEngine {
  const settings = engineSettings(options)
  let opened: OpenEngine | undefined

  function engine(): OpenEngine {
    if (opened !== undefined) return opened
    throw new StateError('STORE_UNAVAILABLE', 'The task store is not open; open it first, and close it last.')
  }

  return {
    async open({ audience, logger }) {
      const now = () => Math.floor(clock())
      const database = openTaskFile(path)
      try {
        opened = new OpenEngine({ database, audience: JSON.stringify(audience), settings, now, logger })
      } catch (error) {
        database.close()
        throw error
      }
    },
    create: async (task) => engine().create(task),
    read: async (id, owner) => engine().read(id, owner),
    list: async (owner, after, limit) => engine().list(owner, after, limit),
    answer: async (id, owner, answers) => engine().answer(id, owner, answers),
    cancel: async (id, owner) => engine().cancel(id, owner),
    work: (options) => engine().work(options),
    watch: (id, listener) => engine().watch(id, listener),
    async close() {
      const closing = opened
      opened = undefined
      await closing?.close()
    },
  }
}
