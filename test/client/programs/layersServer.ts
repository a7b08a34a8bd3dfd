/** The server of these tests on standard input and output; over HTTP when `--http` is given, with its address first. */
import { createServer } from 'pannier/server'
import { offerAll } from '../fixtures/tools.ts'

const server = offerAll(createServer({ name: 'layers', version: '1.0.0' }))
if (process.argv.includes('--http')) process.stdout.write(`${(await server.listen()).url}\n`)
else await server.stdio()
