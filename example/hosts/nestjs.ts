// npm install oidc-provider-impersonation oidc-provider sequelize @nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import Provider from 'oidc-provider'
import { impersonation, provider } from './provider.ts'

class AppModule {}
// In your project a decorator: Node runs this file as it is, and knows none.
Module({ providers: [{ provide: Provider, useValue: provider }] })(AppModule)

const app = await NestFactory.create<NestExpressApplication>(AppModule)
// Nest adds its body parsers in `listen`, so they come after these two.
app.use('/oidc', app.get(Provider).callback())
app.use(impersonation.handler()) // /api/subject-tokens
await app.listen(3000)
