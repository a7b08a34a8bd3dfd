import { chat, createServer, mail, type Server, webhook } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'

// #region notify
export function createDesk(env: NodeJS.ProcessEnv): Server {
  return createServer({
    name: 'desk',
    version: '1.0.0',
    tasks: sqliteTasks({ path: env['STORE'] ?? 'work.db' }),
    questions: {
      url: 'https://desk.example.com/mcp',
      notify: [
        webhook({ url: env['HOOK_URL'] ?? '', secret: env['HOOK_SECRET'] ?? '' }),
        chat({ url: env['CHAT_URL'] ?? '' }),
        mail({
          smtp: env['SMTP_URL'] ?? '',
          from: 'desk@example.com',
          to: ({ by }) => (by?.includes('role:manager') ? ['managers@example.com'] : []),
        }),
      ],
    },
  })
}
// #endregion notify
