import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';

export interface HttpAnswer {
  readonly status: number | undefined;
  readonly body: unknown;
}

/** Sends a request to an application that listens, and reads its JSON. */
export function httpRequest(
  application: INestApplication,
  method: string,
  path: string,
): Promise<HttpAnswer> {
  const { port } = (application.getHttpServer() as { address(): AddressInfo }).address();
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as unknown;
        resolve({ status: response.statusCode, body });
      });
    });
    sent.on('error', reject).end();
  });
}
