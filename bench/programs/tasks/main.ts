/** Tasks under load: kept by an engine, or written by prepared statements alone. */
import pg from 'pg'
import type { Limit } from '../../load/load.ts'
import { measureAnswers, workOnAnswers } from './answerLatency.ts'
import { type RequestHandlers, serveRequests } from '../ipc.ts'
import { EngineStore } from './engineStore.ts'
import { postgresStatements } from './postgresStatements.ts'
import { sqliteStatements } from './sqliteStatements.ts'
import { openEngine, type StoreLocation } from './engines.ts'
import { readRole, type TaskRole } from '../role.ts'
import type { TaskLoad, TaskSession, TaskStore, WriteCounts } from './store.ts'
import { postgresWriteCounts, sqliteWriteCounts } from './writeCounts.ts'

async function handlersFor({ mode, location }: TaskRole): Promise<RequestHandlers> {
  if (mode === 'statements') return loadHandlers(await openStatements(location))
  const { engine } = await openEngine(location)
  if (mode === 'engine') return loadHandlers(new EngineStore(engine, writeCountsOf(location)))
  return { work: () => workOnAnswers(engine), measureAnswers: (count: number) => measureAnswers(engine, count) }
}

function loadHandlers(store: TaskStore): RequestHandlers {
  let session: TaskSession | undefined
  return {
    open: async ({ kind, inFlight }: TaskLoad) => void (session = await store[kind](inFlight)),
    run: (limit: Limit) => session?.run(limit),
    close: () => session?.close(),
    writeCounts: () => store.writeCounts(),
  }
}

function openStatements(location: StoreLocation): Promise<TaskStore> {
  return location.database === 'SQLite'
    ? sqliteStatements(location.path)
    : postgresStatements(location.url, location.schema)
}

function writeCountsOf(location: StoreLocation): () => Promise<WriteCounts> {
  if (location.database === 'SQLite') return () => sqliteWriteCounts(location.path)
  const pool = new pg.Pool({ connectionString: location.url, max: 1 })
  return () => postgresWriteCounts(pool)
}

serveRequests(await handlersFor(readRole<TaskRole>()))
