/** One instance of the interop server over HTTP. Says its address in its first line. */
import { createServer } from 'pannier/server'
import { offer } from '../fixtures/tools.ts'

const { url } = await offer(createServer({ name: 'interop', version: '1.0.0' })).listen()
process.stdout.write(`${url}\n`)
