/**
 * The server that the clients meet: `serve.ts FOLDER http` says its address in its first line, `serve.ts FOLDER stdio`
 * serves standard input and output. Tasks and events go to the folder.
 */
import { join } from 'node:path'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { reportTo } from './events.ts'
import { offerTools } from './tools.ts'

const [folder = '.', host = 'stdio'] = process.argv.slice(2)
const tasks = sqliteTasks({ path: join(folder, 'tasks.db'), pollMs: 100 })
const server = createServer({ name: 'interop', version: '1.0.0', tasks })
offerTools(server, reportTo(join(folder, 'events.jsonl')))

if (host === 'stdio') await server.stdio()
else process.stdout.write(`${(await server.listen()).url}\n`)
