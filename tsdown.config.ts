import { existsSync, globSync } from 'node:fs'
import { defineConfig } from 'tsdown'
import manifest from './package.json' with { type: 'json' }

// One entry per subpath export, found by its source condition, the program behind `bin`, and what it starts as a process.
const entry: Record<string, string> = {}
for (const target of [
  ...Object.values(manifest.exports),
  { 'pannier-source': './src/cli/main.ts' },
  { 'pannier-source': './src/cli/dev/runner.ts' },
]) {
  if (typeof target === 'string') continue
  const source = target['pannier-source']
  if (existsSync(source)) entry[source.replace('./src/', '').replace('.ts', '')] = source
}

// What package.json imports by conditions is resolved where the package is used, so each file is an entry of its own.
for (const source of globSync('src/**/*.{worker,bundled}.ts')) {
  for (const path of [source, source.replace(/\.\w+\.ts$/, '.ts')]) entry[path.slice(4, -3)] = path
}

export default defineConfig({
  entry,
  format: 'esm',
  platform: 'node',
  target: 'node22.18',
  fixedExtension: false,
  dts: true,
  clean: true,
  report: false,
  // Files that package.json chooses by conditions, and what those install who use /metrics, send mail or have logins.
  deps: {
    neverBundle: [
      /^#/,
      '@opentelemetry/exporter-prometheus',
      '@opentelemetry/sdk-metrics',
      'nodemailer',
      'openid-client',
    ],
  },
  // Types keep what they say about themselves.
  outputOptions: { comments: { jsdoc: false } },
})
