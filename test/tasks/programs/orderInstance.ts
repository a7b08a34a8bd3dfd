/** An instance whose tasks lie where `STORE` says, as JSON. Says its address in its first line. */
import { createServer } from 'pannier/server'
import { createTasks } from 'pannier/tasks'
import { offerOrders } from '../fixtures/orders.ts'
import { engineAt, type StoreLocation } from '../survival/fixtures/stores.ts'

const place = JSON.parse(process.env['STORE'] ?? '') as StoreLocation
const tasks = createTasks(engineAt(place, { leaseMs: 1000 }), { pollMs: 20 })
const { url } = await offerOrders(createServer({ name: 'orders', version: '1', tasks })).listen({ port: 0 })
process.stdout.write(`${url}\n`)
