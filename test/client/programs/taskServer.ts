/** A server whose tools run as tasks, over HTTP with its address first, or on standard input and output. */
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { offerTasks } from '../fixtures/taskTools.ts'

const tasks = sqliteTasks({ path: process.env['TASKS'] ?? ':memory:', pollMs: 200 })
const server = offerTasks(createServer({ name: 'task-shop', version: '1.0.0', tasks }))
if (process.argv.includes('http'))
  process.stdout.write(`${(await server.listen({ port: Number(process.env['PORT'] ?? 0) })).url}\n`)
else await server.stdio()
