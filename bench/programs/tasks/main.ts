/** Tasks under load: kept by an engine, or written by bare statements. */
import pg from 'pg'
import type { Limit } from '../../load/load.ts'
import { answerTimes, workOnAnswers } from './answerLatency.ts'
import { type Answers, obey } from '../ipc.ts'
import { EngineTasks } from './engineStore.ts'
import { postgresStatements } from './postgresStatements.ts'
import { sqliteStatements } from './sqliteStatements.ts'
import { openEngine, type Place } from './engines.ts'
import { readTaskRole, type TaskRole } from './role.ts'
import type { TaskLoad, TaskSession, TaskStore, Written } from './store.ts'
import { postgresWritten, sqliteWritten } from './writeCounts.ts'

async function answersFor({ keeper, place }: TaskRole): Promise<Answers> {
  if (keeper === 'statements') return loads(await openStatements(place))
  const { engine } = await openEngine(place)
  if (keeper === 'engine') return loads(new EngineTasks(engine, writtenIn(place)))
  return { work: () => workOnAnswers(engine), answerTimes: (count: number) => answerTimes(engine, count) }
}

function loads(store: TaskStore): Answers {
  let session: TaskSession | undefined
  return {
    open: async ({ kind, inFlight }: TaskLoad) => void (session = await store[kind](inFlight)),
    run: (limit: Limit) => session?.run(limit),
    close: () => session?.close(),
    written: () => store.written(),
  }
}

function openStatements(place: Place): Promise<TaskStore> {
  return place.database === 'SQLite' ? sqliteStatements(place.path) : postgresStatements(place.url, place.schema)
}

function writtenIn(place: Place): () => Promise<Written> {
  if (place.database === 'SQLite') return () => sqliteWritten(place.path)
  const pool = new pg.Pool({ connectionString: place.url, max: 1 })
  return () => postgresWritten(pool)
}

obey(await answersFor(readTaskRole()))
