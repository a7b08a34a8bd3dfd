// postgresWorker.ts URL SCHEMA AUDIENCE OPTIONS: works on the tasks of a database, as the contract's script says.
import { workByScript } from '../contract/workerScript.ts'
import { postgres } from '../../../src/postgres/database.ts'
import { postgresEngine } from '../../../src/postgres/tasks/engine.ts'

const [url = '', schema = '', audience = '', options = '{}'] = process.argv.slice(2)
await workByScript(postgresEngine(postgres({ url, schema }), JSON.parse(options)), audience)
