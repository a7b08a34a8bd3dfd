// A worker over a SQLite file, to be killed and frozen: sqliteWorker.ts PATH AUDIENCE OPTIONS
import { workByScript } from '../contract/workerScript.ts'
import { sqliteEngine } from '../../../src/tasks/sqlite/engine.ts'

const [path = '', audience = '', options = '{}'] = process.argv.slice(2)
await workByScript(sqliteEngine({ ...JSON.parse(options), path }), audience)
